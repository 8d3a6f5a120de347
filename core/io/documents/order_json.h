// This file writes an order of work with its costs as the document trainyard/order@1, which
// `schedule --json` prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/io/json/fields.h"
#include "core/program/order.h"

namespace trainyard {

/// Fields that do not apply are empty and left out.
struct OrderDocument {
  std::string schedule;
  int devices = 1, virtual_stages = 1, microbatches = 1;
  std::string placement;           // placement of stages on devices
  int steps = 1, step = 0;         // for an asynchronous schedule: its figures are those of `step`,
                                   // counted from 0
  double makespan = 0, ideal = 0;  // seconds
  double bubble_fraction = 0;      // idle time over span, on all devices
  double over_one_wave = 0;  // for waves: samples per second over those of one wave; 0 = no waves
  std::vector<double> span_bubble_fraction;  // by device, between its own first and last pass
  double lower_bound = 0;  // seconds; for a solved order: no order is shorter; 0 = not a solved
                           // order
  std::string found_by{};  // for a solved order
  std::vector<double> live_microbatches;  // peak of each device, in microbatches of a whole device
  std::vector<int> delays;                // in updates, for each stage's forward
  std::vector<int> versions;              // most versions of each stage's weights at once
  struct Card {
    std::string gains, costs, legal_when, paper;
  } card;
  Order order;
};

/// These convert a text to a list of its lines and back.
Json lines_json(std::string_view text);
std::string joined_lines(const JsonCursor& list);

const Fields<OrderDocument>& order_fields();
std::string order_document(const OrderDocument&);
/// Reads the order of such a document (its "lanes"), of plain text as parse_order() reads it, or of
/// PyTorch's pipeline CSV. Throws Error{InvalidInput}.
Order order_of(std::string_view content, const std::string& source);
/// Reads the order from a file. Throws as read_file() and order_of() do, and Error{InvalidInput}
/// where the order has no lane.
Order read_order(const std::string& path);

}  // namespace trainyard
