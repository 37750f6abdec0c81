// Correct uses of the interfaces that the cases in the parent folder misuse.
#include <cmwq/cmwq.hpp>

#include <chrono>
#include <string_view>

struct mine : cmwq::bound {
    static constexpr std::string_view name = "mine";
    static constexpr unsigned default_max_active = 16;
};
static_assert(cmwq::execution_policy<mine>);
static_assert(cmwq::execution_policy<cmwq::bound>);

struct owner {
    void run() {}
    cmwq::work_member<&owner::run> item{*this};
};

struct const_owner {
    void run() const {}
};

void use(cmwq::workqueue<>& queue, const const_owner& constant) {
    cmwq::work item{[] {}};
    cmwq::delayed_work timed{[] {}};
    cmwq::work_member<&const_owner::run> of_constant{constant};
    owner o;
    queue.queue(item);
    queue.queue(o.item);
    queue.queue(of_constant);
    queue.queue_on(0, item);
    queue.queue_after(std::chrono::milliseconds{50}, timed);
    queue.post([] {});
    const int answer = queue.async([] { return 42; }).get();
    queue.set_max_active(static_cast<unsigned>(answer));
    queue.flush();
    queue.drain();
    cmwq::system_wq().queue(item);
    cmwq::blocking_region region;
    cmwq::bh_disable_guard hold;
}

int main() {
    cmwq::options<cmwq::bound> options{.name = "q", .max_active = 8};
    cmwq::workqueue<> queue{std::move(options)};
    cmwq::workqueue<mine> other{"other"};
    use(queue, const_owner{});
}
