// expect: what.*cmwq: deadlock: item 0x[0-9a-f]+ [(][^)]+[)] of queue "(left|right)" would wait in flush[(][)] for queue "(left|right)", whose item 0x[0-9a-f]+ [(][^)]+[)] waits in flush[(][)] for queue "(left|right)"
// Two items flush each other's queues. The second flush throws.
#include "case.hpp"

#include <cmwq/workqueue.hpp>

#include <latch>

DEATH_CASE(deadlock_two_queues) {
    cmwq::workqueue<> left{"left"}, right{"right"};
    std::latch both_run{2};
    cmwq::work a{[&] {
        both_run.arrive_and_wait();
        right.flush();
    }};
    cmwq::work b{[&] {
        both_run.arrive_and_wait();
        left.flush();
    }};
    left.queue(a);
    right.queue(b);
    a.flush();
    b.flush();
}
