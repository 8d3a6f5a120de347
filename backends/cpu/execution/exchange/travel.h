// A Travel is what is left of an exchange while it waits for other processes.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "backends/processes.h"

namespace trainyard {

class Travel {
 public:
  using Then = std::function<std::unique_ptr<Travel>()>;
  /// `then` is called once the transfer is done, and returns what follows; null = nothing is left.
  Travel(TransferPtr transfer, Then then)
      : transfer_(std::move(transfer)), then_(std::move(then)) {}
  bool arrived() { return transfer_->done(); }
  std::unique_ptr<Travel> go_on() { return then_(); }
  Transfer& transfer() { return *transfer_; }
  TransferPtr take_transfer() { return std::move(transfer_); }

 private:
  TransferPtr transfer_;
  Then then_;
};
/// Null = nothing is left.
using TravelPtr = std::unique_ptr<Travel>;

}  // namespace trainyard
