// expect: (named|designator) 'priority'
// The attributes of an unbound queue choose its pools: use attrs::nice() instead.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::unbound> misuse{.name = "q", .priority = cmwq::priority::high};
