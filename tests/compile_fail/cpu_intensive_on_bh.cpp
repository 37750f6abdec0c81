// expect: (named|designator) 'cpu_intensive'
// Nothing runs beside a bottom half.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::bh> misuse{.name = "q", .cpu_intensive = true};
