// expect: what.*cmwq: enable[(][)] of item 0x[0-9a-f]+ [(][^)]+[)] without a matching disable[(][)]
#include <cmwq/workqueue.hpp>

int main() {
    cmwq::work item{[] {}};
    item.enable();
}
