#include "parts.hpp"

cmwq::workqueue<> static_queue{"static"};
