// expect: (named|designator) 'attrs'
// A bottom-half queue uses the pools of the CPUs: attributes cannot choose another pool.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::bh> misuse{.name = "q", .attrs = cmwq::attrs{}.nice(5)};
