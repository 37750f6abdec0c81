// exits: 0
// says: runs
// The queue is destroyed first: it drains, and brings the timer forward.
#include "parts.hpp"

#include <chrono>

int main() { static_queue.queue_after(std::chrono::hours{1}, static_item); }
