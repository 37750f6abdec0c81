// SPDX-License-Identifier: BSL-1.0
#include "workloads.hpp"

#include <cmwq/cmwq.hpp>
#include <counting/machine.hpp>
#include <counting/sites.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace scale {

namespace {

namespace counting = cmwq::detail::counting;

constexpr unsigned burst = 8, depth_of_tree = 3;
constexpr unsigned items_of_tree = (1u << (depth_of_tree + 1)) - 1;

/// The runs of one case on one machine.
template <class Policy>
class scene {
    using queue_type = cmwq::workqueue<Policy>;
    struct lane;

    struct job {
        lane* its;
        unsigned number;
        void operator()() const { its->ran(number); }
    };

    /// The items of one producer, or of one chain. Each item has a line of its own.
    struct lane {
        struct alignas(cmwq::detail::cache_line) slot {
            explicit slot(job j) : item(j) {}
            cmwq::work<job> item;
        };

        lane(queue_type& q, std::int64_t item, counting::gate* all)
            : queue(q), time_of_item(item), done(all != nullptr ? *all : own) {
            for (unsigned i = 0; i < burst; ++i) slots.push_back(std::make_unique<slot>(job{this, i}));
        }

        // The phase begins when everything of this program has been read.
        void put(unsigned number) {
            cmwq::work<job>& item = slots[number]->item;
            queue_type& q = queue;
            const counting::in_phase p(counting::phase::queueing);
            q.queue(item);
        }
        void put_on(unsigned cpu, unsigned number) {
            cmwq::work<job>& item = slots[number]->item;
            queue_type& q = queue;
            const counting::in_phase p(counting::phase::queueing);
            q.queue_on(cpu, item);
        }
        void ran(unsigned number) {
            counting::enter(counting::phase::running);
            counting::burn(time_of_item);
            if (left == 0 || --left == 0) done.open();
            else put(1 - number);
        }

        queue_type& queue;
        const std::int64_t time_of_item;
        counting::gate own;
        counting::gate& done;
        unsigned left = 0; ///< of a chain: the items that have not run
        std::vector<std::unique_ptr<slot>> slots;
    };

    struct closure {
        queue_type* queue;
        counting::gate* done;
        std::int64_t time_of_item;
        unsigned depth;

        void operator()() const {
            counting::enter(counting::phase::running);
            counting::burn(time_of_item);
            for (unsigned i = 0; depth != 0 && i < 2; ++i) {
                const counting::in_phase p(counting::phase::queueing);
                queue->post(closure{queue, done, time_of_item, depth - 1});
            }
            done->open();
        }
    };

public:
    explicit scene(const setting& s) : what_(s.w), cpus_(s.cpus), rt_(options(s)) {
        const bool own_queues = s.w == workload::independent || s.w == workload::bursts;
        counting::gate* const common = s.w == workload::outside ? &all_done_ : nullptr;
        const unsigned of_round = s.w == workload::bursts ? burst : s.w == workload::tree ? items_of_tree : 1;
        rounds_ = (s.items_of_cpu + of_round - 1) / of_round;
        items_ = std::uint64_t{s.cpus} * rounds_ * of_round;
        for (unsigned c = 0; c < s.cpus; ++c) {
            if (c == 0 || own_queues) queues_.push_back(std::make_unique<queue_type>(rt_, cmwq::options<Policy>{}));
            lanes_.push_back(std::make_unique<lane>(*queues_.back(), s.time_of_item, common));
        }
    }

    /// Runs all rounds, after half as many that are not measured.
    void play(measurement& m) {
        run((rounds_ + 1) / 2);
        counting::begin_measuring();
        const std::int64_t begin = counting::now();
        run(rounds_);
        m.elapsed = counting::now() - begin;
        counting::end_measuring();
        m.items = items_;
    }

private:
    static cmwq::runtime_options options(const setting& s) {
        cmwq::runtime_options o;
        o.machine = cmwq::topology::flat(cmwq::cpuset::range(0, s.cpus));
        o.sentinel = s.sentinels;
        o.default_scope = s.scope;
        o.cache_shard_size = s.shard_size;
        return o;
    }

    void run(unsigned rounds) {
        std::vector<counting::simulated_thread*> producers;
        const unsigned n = what_ == workload::outside ? 1 : cpus_;
        for (unsigned c = 0; c < n; ++c)
            producers.push_back(&counting::spawn(c, [this, c, rounds] { produce(c, rounds); }));
        for (counting::simulated_thread* p : producers) counting::join(*p);
    }

    void produce(unsigned c, unsigned rounds) {
        lane& own = *lanes_[c];
        if (what_ == workload::inside) {
            own.left = rounds;
            own.put(0);
            own.done.wait();
            return;
        }
        for (unsigned r = 0; r < rounds; ++r) {
            switch (what_) {
            case workload::independent:
            case workload::shared:
            case workload::inside:
                own.put(0);
                own.done.wait();
                break;
            case workload::bursts:
                for (unsigned i = 0; i < burst; ++i) own.put(i);
                own.done.wait(burst);
                break;
            case workload::outside:
                for (unsigned i = 0; i < cpus_; ++i) lanes_[i]->put_on(i, 0);
                all_done_.wait(cpus_);
                break;
            case workload::tree: {
                {
                    const counting::in_phase p(counting::phase::queueing);
                    own.queue.post(closure{&own.queue, &own.done, own.time_of_item, depth_of_tree});
                }
                own.done.wait(items_of_tree);
                break;
            }
            }
        }
    }

    const workload what_;
    const unsigned cpus_;
    unsigned rounds_ = 0;
    std::uint64_t items_ = 0;
    cmwq::runtime rt_;
    counting::gate all_done_;
    std::vector<std::unique_ptr<queue_type>> queues_;
    std::vector<std::unique_ptr<lane>> lanes_;
};

template <class Policy>
void play(const setting& s, unsigned number, measurement& m) {
    counting::machine machine;
    machine.cpus = s.cpus;
    machine.time.wake_up += 97 * number;
    const counting::outcome r = counting::simulate(machine, [&s, &m] { std::make_unique<scene<Policy>>(s)->play(m); });
    m.queueing = counting::counted(counting::phase::queueing);
    m.running = counting::counted(counting::phase::running);
    m.rest = counting::counted(counting::phase::rest);
    std::snprintf(m.failure, sizeof m.failure, "%s", r.failure.c_str());
}

void play_any(const setting& s, unsigned number, measurement& m) {
    switch (s.p) {
    case policy::bound: return play<cmwq::bound>(s, number, m);
    case policy::elastic: return play<cmwq::elastic>(s, number, m);
    case policy::unbound: return play<cmwq::unbound>(s, number, m);
    case policy::ordered: return play<cmwq::ordered>(s, number, m);
    case policy::bh: return play<cmwq::bh>(s, number, m);
    }
}

std::string list_sites(std::size_t n, const measurement& m) {
    std::string text;
    for (const counting::site& s : counting::top_sites(n)) {
        char line[64];
        std::snprintf(line, sizeof line, "%10.3f %8.3f %8.3f %8.3f  ", m.per_item(s.transfers), m.per_item(s.locked),
                      m.per_item(s.lock_waits), m.per_item(s.lines));
        const char* const phase = s.in == counting::phase::queueing  ? "queue  "
                                  : s.in == counting::phase::running ? "run    "
                                                                     : "rest   ";
        text += line + (phase + s.place) + '\n';
    }
    return text;
}

void write_all(int to, const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size != 0) {
        const ssize_t n = ::write(to, at, size);
        if (n <= 0) return;
        at += n;
        size -= static_cast<std::size_t>(n);
    }
}

/// One run of a case, in a child process.
measurement measure_once(const setting& s, unsigned number, std::string* sites) {
    static_assert(std::is_trivially_copyable_v<measurement>);
    measurement m;
    int ends[2];
    std::fflush(nullptr);
    if (::pipe(ends) != 0) {
        std::snprintf(m.failure, sizeof m.failure, "pipe() failed");
        return m;
    }
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        // The caller's objects are on its stack, whose lines differ from run to run.
        alignas(cmwq::detail::cache_line) static setting own_case;
        alignas(cmwq::detail::cache_line) static measurement own_result;
        own_case = s;
        play_any(own_case, number, own_result);
        m = own_result;
        write_all(ends[1], &m, sizeof m);
        const std::string text = number == 0 && s.nr_sites != 0 ? list_sites(s.nr_sites, m) : std::string();
        write_all(ends[1], text.data(), text.size());
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string received;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        received.append(buffer, static_cast<std::size_t>(n));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (received.size() < sizeof m) {
        std::snprintf(m.failure, sizeof m.failure, "the process ended with status %d", status);
        return m;
    }
    std::memcpy(&m, received.data(), sizeof m);
    if (sites != nullptr && number == 0) *sites = received.substr(sizeof m);
    return m;
}

} // namespace

measurement measure(const setting& s, std::string* sites) {
    measurement sum;
    for (unsigned i = 0; i < s.runs; ++i) {
        const measurement one = measure_once(s, i, sites);
        if (one.failure[0] != '\0') return one;
        sum.items += one.items;
        sum.elapsed += one.elapsed;
        sum.queueing.add(one.queueing);
        sum.running.add(one.running);
        sum.rest.add(one.rest);
    }
    return sum;
}

} // namespace scale
