//===- NumberedObjects.cpp - Objects by numbers that clients choose ---------------------------===//

#include "runtime/dist/NumberedObjects.h"

using namespace updraft::dist;

void ReleasedNumbers::add(int64_t number) {
  if (!numbers.insert(number).second)
    return;
  order.push_back(number);
  if (order.size() <= capacity)
    return;
  numbers.erase(order.front());
  order.pop_front();
}

bool ReleasedNumbers::take(int64_t number) { return numbers.erase(number) > 0; }
