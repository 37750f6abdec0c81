// expect: (named|designator) 'exported'
// A bottom-half queue has no attribute that could be shown or changed.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::bh> misuse{.name = "q", .exported = true};
