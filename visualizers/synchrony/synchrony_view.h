// How replicas and threads that share weights wait for each other, or do not: the price of waiting
// for the slowest replica, how old changes are at a server that nobody waits for, and what threads
// gain on this machine that share weights without locks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/estimate/straggling.h"
#include "core/training/hogwild_study.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

enum class SynchronyPicture : std::uint8_t { Waiting, Staleness, Threads };

struct SynchronyModel {
  StragglingAnswer replicas;                      // of Waiting and Staleness
  std::shared_ptr<const HogwildStudy> threads{};  // of Threads; null: nothing was measured yet
  SynchronyPicture picture = SynchronyPicture::Waiting;
};

/// Threads must have been measured where they are drawn. Items: as draw_curve() and
/// draw_staleness().
void draw_synchrony(Drawing&, const Rect& area, const SynchronyModel&, const ViewState& = {});
Hover describe_synchrony(const SynchronyModel&, Item);
Drawing synchrony_picture(const SynchronyModel&);
/// The rows behind the picture.
DataTable synchrony_table(const SynchronyModel&);
/// Returns one sentence for each conclusion from the picture.
std::vector<std::string> synchrony_sentences(const SynchronyModel&);

}  // namespace trainyard
