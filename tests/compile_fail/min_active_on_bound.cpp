// expect: (named|designator) 'min_active'
// Only the machine-wide limit of an unbound queue is divided among nodes.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::bound> misuse{.name = "q", .min_active = 2};
