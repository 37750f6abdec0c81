// expect: (named|designator) 'cpu_intensive'
// No item waits until an unbound item has finished computing: the option would have no effect.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::unbound> misuse{.name = "q", .cpu_intensive = true};
