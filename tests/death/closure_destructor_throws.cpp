// expect: nobody gets this
// The destructor of a closure runs where no handler could receive an exception, also on a queue with a handler.
#include "case.hpp"

#include <cmwq/workqueue.hpp>

#include <exception>
#include <stdexcept>

namespace {

struct throws_at_its_end {
    throws_at_its_end() = default;
    throws_at_its_end(throws_at_its_end&& other) noexcept : armed(other.armed) { other.armed = false; }
    ~throws_at_its_end() noexcept(false) {
        if (armed) throw std::runtime_error("nobody gets this");
    }
    bool armed = true;
};

} // namespace

DEATH_CASE(closure_destructor_throws) {
    cmwq::workqueue<> queue{{.name = "queue", .on_exception = [](const std::exception_ptr&) {}}};
    queue.post([t = throws_at_its_end()] { static_cast<void>(t); });
    queue.flush();
}
