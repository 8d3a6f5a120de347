// An order of work with what it costs, as the document trainyard/order@1: what `schedule --json`
// prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/io/json.h"
#include "core/program/order.h"

namespace trainyard {

struct OrderDocument {
  std::string schedule;
  int devices = 1, virtual_stages = 1, microbatches = 1;
  double makespan = 0, ideal = 0;         // seconds
  double bubble_fraction = 0;             // idle over span, all devices
  std::vector<double> live_microbatches;  // peak of each device, in microbatches of a whole device
  Order order;
};

/// A text as a list of its lines, and back.
Json lines_json(std::string_view text);
std::string joined_lines(const JsonCursor& list);

std::string order_document(const OrderDocument&);
/// The order of such a document (its "lanes"), or of plain text as parse_order reads it. Throws
/// Error{InvalidInput}.
Order order_of(std::string_view content, const std::string& source);
/// The same from a file. Throws as read_file and order_of do.
Order read_order(const std::string& path);

}  // namespace trainyard
