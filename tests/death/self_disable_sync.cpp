// expect: what.*cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "loop" would wait for itself in disable_sync[(][)]
#include <cmwq/workqueue.hpp>

#include <functional>

int main() {
    cmwq::workqueue<cmwq::elastic> loop{"loop"};
    cmwq::work<std::function<void()>> item{[&] { item.disable_sync(); }};
    loop.queue(item);
    loop.flush();
}
