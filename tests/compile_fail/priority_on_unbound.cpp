// expect: (named|designator) 'priority'
// The pools of an unbound queue follow from its attributes: say nice() there.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::unbound> misuse{.name = "q", .priority = cmwq::priority::high};
