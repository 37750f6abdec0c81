// expect: cmwq: a runtime is destroyed before its queue "left over"
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <memory>

DEATH_CASE(runtime_before_queue) {
    auto rt = std::make_unique<cmwq::runtime>();
    cmwq::workqueue<> queue{*rt, "left over"};
    rt.reset();
}
