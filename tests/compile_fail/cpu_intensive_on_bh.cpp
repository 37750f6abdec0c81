// expect: (named|designator) 'cpu_intensive'
// No other item of its pool runs beside a bottom half: the option would have no effect.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::bh> misuse{.name = "q", .cpu_intensive = true};
