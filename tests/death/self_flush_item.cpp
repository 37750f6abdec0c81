// expect: what.*cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "loop" would wait for itself in flush[(][)]
#include <cmwq/workqueue.hpp>

#include <functional>

int main() {
    cmwq::workqueue<> loop{"loop"};
    cmwq::work<std::function<void()>> item{[&] { item.flush(); }};
    loop.queue(item);
    loop.flush();
}
