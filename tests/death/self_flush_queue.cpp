// expect: what.*cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "loop" would wait for itself in flush[(][)] of that queue
#include <cmwq/workqueue.hpp>

int main() {
    cmwq::workqueue<> loop{"loop"};
    cmwq::work item{[&] { loop.flush(); }};
    loop.queue(item);
    item.flush();
}
