// expect: (named|designator) 'cpu_intensive'
// Nothing waits for an unbound item to stop computing.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::unbound> misuse{.name = "q", .cpu_intensive = true};
