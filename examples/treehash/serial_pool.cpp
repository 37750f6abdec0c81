// SPDX-License-Identifier: BSL-1.0
#include "pool.hpp"

namespace treehash {

namespace {

class serial_pool final : public pool {
public:
    void run(job& j) override {
        j.walk([](file_record& record) { record.hash(); });
    }
    [[nodiscard]] pool_figures figures() const override { return {}; }
};

} // namespace

std::unique_ptr<pool> make_serial_pool() { return std::make_unique<serial_pool>(); }

} // namespace treehash
