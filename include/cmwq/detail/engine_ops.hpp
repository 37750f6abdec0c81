// SPDX-License-Identifier: BSL-1.0
//
// The API boundary between the public headers and the engine. The functions below are defined in translation units that
// include <cmwq/runtime.hpp>, <cmwq/cmwq.hpp> or <cmwq/engine.hpp>. If no file of a program does, the program fails to
// link, and the linker names these functions.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS {

class runtime;
class work_base;
class delayed_work_base;
class workqueue_base;
class attrs;
enum class pool_kind : unsigned char;

/// The result of a queueing call.
enum class queue_status : unsigned char {
    queued,          ///< this call made the item pending
    already_pending, ///< the item was pending before; its run sees everything written before this call
    modified,        ///< `modify()` only: the item was pending and has its new time
    disabled,        ///< the item is disabled; nothing changed
    rejected,        ///< the queue drains, is shut down or being destroyed, or has no such CPU; nothing changed
};

/// The class of the threads that run a queue's items. The pools of different priorities share nothing.
enum class priority : unsigned char {
    normal, ///< threads like any other
    high,   ///< nice -20, where the system permits it
    fifo,   ///< SCHED_FIFO at its lowest priority, where the system permits it
};

namespace detail {

class queue_core;

/// A function with one word of context: the content of `on_exception`. An empty one means that there is none.
struct exception_sink {
    void (*call)(void* context, std::exception_ptr error) = nullptr;
    void* context = nullptr;
    void (*destroy)(void* context) noexcept = nullptr;
};

/// The callable that receives the items which shutdown() drops; `call` is null if there is none.
struct dropped_items_to {
    void (*call)(void* context, work_base& item) = nullptr;
    void* context = nullptr;
};

/// How the items of a queue are executed: the answers of its policy.
struct execution {
    pool_kind pool;
    bool managed;     ///< its pools replace blocked workers
    bool local_lists; ///< an item that one of its items queues may go to the list of the worker
    bool fifo;        ///< its items run one at a time, in the order in which they were queued
};

/// A workqueue's options after its policy has been resolved.
struct queue_settings {
    std::string_view name;
    std::string_view policy; ///< its name
    execution how;
    unsigned max_active;
    unsigned min_active = 0;           ///< attrs_keyed; 0: the default
    priority prio = priority::normal;  ///< per_cpu and dispatcher
    bool cpu_intensive = false;        ///< per_cpu
    bool power_efficient = false;      ///< per_cpu
    bool rescuer = false;              ///< per_cpu and attrs_keyed
    bool freezable = false;            ///< per_cpu and attrs_keyed
    bool exported = false;             ///< per_cpu and attrs_keyed
    const attrs* attributes = nullptr; ///< attrs_keyed; else null
    exception_sink on_exception = {};
    workqueue_base* front = nullptr; ///< the object of the user; does not move
};

inline constexpr int any_cpu = -1;
inline constexpr unsigned cpu_ceiling = 1u << 20; ///< no machine has a CPU of a higher number

// Queues. Creation throws std::invalid_argument, std::system_error or std::bad_alloc, and then `settings.on_exception`
// still belongs to the caller.
queue_core* create_queue(runtime* rt, const queue_settings& settings);
void destroy_queue(queue_core* q) noexcept;
void flush_queue(queue_core& q);
void drain_queue(queue_core& q);
std::size_t shut_queue_down(queue_core& q, dropped_items_to to);
void set_queue_max_active(queue_core& q, unsigned max_active);
void fix_queue_limit(queue_core& q) noexcept; // before the queue is visible to other threads
void set_queue_min_active(queue_core& q, unsigned min_active);
unsigned queue_max_active(const queue_core& q) noexcept;
unsigned queue_min_active(const queue_core& q) noexcept;
void apply_to_queue(queue_core& q, const attrs& wanted);
void copy_attrs_of_queue(const queue_core& q, attrs& to);
std::string_view queue_name(const queue_core& q) noexcept;

// Items.
queue_status queue_work(queue_core& q, work_base& w, int cpu) noexcept;
queue_status queue_work_on_node(queue_core& q, work_base& w, unsigned node) noexcept;
queue_status queue_work_after(queue_core& q, delayed_work_base& w, std::int64_t ns, int cpu) noexcept;
queue_status modify_work(queue_core& q, delayed_work_base& w, std::int64_t ns, int cpu) noexcept;
bool flush_work(work_base& w);
bool cancel_work(work_base& w) noexcept;
bool cancel_work_sync(work_base& w);
bool disable_work(work_base& w);
bool disable_work_sync(work_base& w);
bool enable_work(work_base& w);
bool work_running(const work_base& w) noexcept;
void end_of_work(work_base& w) noexcept; // cancel_sync() of the destructor; an item may destroy itself

// A group of tasks is about to be made on `q`. Ends the program if another copy of the library has made the queue.
void check_queue_of_group(const queue_core& q) noexcept;

// Memory for a closure that is about to be queued on `q`. A size up to 128 bytes costs no call of the allocator in the
// steady state. Throws std::bad_alloc.
void* allocate_closure(queue_core& q, std::size_t size);
void free_closure(void* closure, std::size_t size) noexcept;

// Called when the outermost bh_disable_guard ends: runs the items that this thread has queued in it.
void run_held_back_bottom_halves() noexcept;

// The item and the queue of the calling worker; null elsewhere.
work_base* work_of_this_thread() noexcept;
workqueue_base* queue_of_this_thread() noexcept;
bool on_rescuer_thread() noexcept;
void describe_this_run(std::string_view what) noexcept;

// Of an item, as messages name it. Throws std::bad_alloc.
std::string name_of_function(void (*function)(work_base&));

} // namespace detail

}} // namespace cmwq::CMWQ_NS
