// SPDX-License-Identifier: BSL-1.0
//
// The content of a round: a runtime, queues, items, and the counts over all of them.
#pragma once

#include "complaints.hpp"
#include "host.hpp"
#include "owned_item.hpp"
#include "queues.hpp"
#include "settings.hpp"
#include "shared_item.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

namespace soak {

inline constexpr unsigned nr_levels = 3;

class world {
public:
    world(const settings& s, complaints& c);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    /// Each thread does `n` random operations.
    void run(unsigned n);
    /// Call it after run(): waits for all items and checks that all counts agree.
    void settle();

    [[nodiscard]] bool only_groups() const { return settings_.only_groups; }
    [[nodiscard]] bool stopping() const { return stop_.load(std::memory_order_relaxed); }
    [[nodiscard]] slot& some_slot(unsigned level);
    [[nodiscard]] slot& some_slot();
    template <class F>
    void for_each_slot(F&& f) {
        for (slot& s : slots_) f(s);
    }
    /// An item of a level below this one.
    [[nodiscard]] shared_place& some_shared(unsigned below = nr_levels);
    [[nodiscard]] owned_item& some_owned();
    /// The queue of the calling item if it is in a slot, or null.
    [[nodiscard]] any_queue* running_on();
    /// Makes a queue of one of these kinds. Null: no thread could be started.
    [[nodiscard]] std::unique_ptr<any_queue> make_queue(const std::vector<const queue_kind*>& kinds);
    /// A queue for closures only, which may be shut down.
    [[nodiscard]] slot& victim() { return victim_; }
    void replace(slot& s);
    void replace(shared_place& p);

    complaints& complain;

private:
    const settings& settings_;

public:
    host machine;
    counter entered, left; ///< runs of all items
    counter made, gone;    ///< objects in closures and items that destroy themselves
    counter accepted, ran; ///< items that destroy themselves: queued, run
    counter chains;        ///< chains of closures that have begun and not ended

private:
    void fill(slot& s);
    void empty(slot& s);
    std::vector<const queue_kind*> kinds_of(unsigned level) const;

    std::atomic<bool> stop_{false};
    std::deque<slot> slots_;
    slot victim_;
    std::deque<shared_place> shared_;
    std::deque<owned_item> owned_;
};

} // namespace soak
