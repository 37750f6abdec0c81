// expect: (named|designator) 'attrs'
// proves: kernel-19
// A bound queue uses the pools of the CPUs, which have no attributes.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::bound> misuse{.name = "q", .attrs = {}};
