// expect: what.*cmwq: enable[(][)] of item 0x[0-9a-f]+ [(][^)]+[)] without a matching disable[(][)]
#include "case.hpp"

#include <cmwq/workqueue.hpp>

DEATH_CASE(enable_without_disable) {
    cmwq::work item{[] {}};
    item.enable();
}
