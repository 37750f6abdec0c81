// A static queue and a static item, in translation units of their own.
#pragma once

#include <cmwq/cmwq.hpp>

#include <cstdio>

struct speaks {
    void operator()() const { std::puts("runs"); } // standard output exists until the end
};

extern cmwq::workqueue<> static_queue;
extern cmwq::delayed_work<speaks> static_item;
