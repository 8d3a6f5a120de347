// An order of work with what it costs, as the document trainyard/order@1: what `schedule --json`
// prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/io/json/json.h"
#include "core/program/order.h"

namespace trainyard {

/// Fields that do not apply are empty and left out.
struct OrderDocument {
  std::string schedule;
  int devices = 1, virtual_stages = 1, microbatches = 1;
  std::string placement;    // of stages on devices
  int steps = 1, step = 0;  // of an asynchronous schedule; its figures are of that one, from 0
  double makespan = 0, ideal = 0;            // seconds
  double bubble_fraction = 0;                // idle over span, all devices
  double over_one_wave = 0;                  // of waves: samples a second over one wave's; 0 = none
  std::vector<double> span_bubble_fraction;  // of each device, between its own first and last pass
  double lower_bound = 0;  // seconds, of a solved order: none is shorter; 0 = not a solved one
  std::string found_by{};  // of a solved order
  std::vector<double> live_microbatches;  // peak of each device, in microbatches of a whole device
  std::vector<int> delays;                // of each stage's forward, in updates
  std::vector<int> versions;              // of each stage's weights, most at once
  struct Card {
    std::string gains, costs, legal_when, paper;
  } card;
  Order order;
};

/// A text as a list of its lines, and back.
Json lines_json(std::string_view text);
std::string joined_lines(const JsonCursor& list);

std::string order_document(const OrderDocument&);
/// The order of such a document (its "lanes"), of plain text as parse_order reads it, or of
/// PyTorch's pipeline CSV. Throws Error{InvalidInput}.
Order order_of(std::string_view content, const std::string& source);
/// The same from a file. Throws as read_file and order_of do.
Order read_order(const std::string& path);

}  // namespace trainyard
