// The canvases of a comparison: cards of figures, timelines over each other,
// causes and ranks. They share one look and tell the page what was clicked.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/scene/chart_scene.h"
#include "app/workspace/comparison/comparison.h"
#include "visualizers/compare/comparison_view.h"

namespace trainyard {

/// What is compared and how it is looked at. All null before the first
/// comparison.
struct CompareLook {
  std::shared_ptr<const ResultComparison> result;
  std::shared_ptr<const ComparisonModel> timelines;  // null where one of the two has none
  std::vector<FigureCard> cards;
  ComparisonState state;
  bool memory = false;        // causes of the peak in place of those of the step
  std::optional<int> chosen;  // of the causes that are shown
  QString words;              // what stands there while nothing is compared
  const WaterfallModel* causes() const {
    return result == nullptr ? nullptr : memory ? &result->memory : &result->time;
  }
};

/// Cards of figures. The look must outlive the scene.
std::unique_ptr<ChartScene> card_scene(const CompareLook&);
/// Runs as dots, and the gauge of their verdict; likewise.
std::unique_ptr<ChartScene> judged_scene(const CompareLook&);

class CompareScene : public Scene {
 public:
  /// What the keys of a comparison do.
  struct Told {
    std::function<void()> swap, link, deltas, changed;
  };
  CompareScene(CompareLook& look, Told told) : look_(look), told_(std::move(told)) {}
  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;

 private:
  Rect area() const { return {0, 0, last_.size.width, last_.size.height}; }
  bool over_b(Point) const;
  Instant end_of(bool b) const;
  Viewport viewport(bool b) const;
  bool key(int key);

  CompareLook& look_;
  Told told_;
  Drawing last_{Size{}};
};

class CauseScene : public Scene {
 public:
  /// jump: to a part of the causes that are shown.
  CauseScene(CompareLook& look, std::function<void(int)> jump)
      : look_(look), jump_(std::move(jump)) {}
  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;

 private:
  CompareLook& look_;
  std::function<void(int)> jump_;
  Drawing last_{Size{}};
};

class RankScene : public Scene {
 public:
  /// choose: the rank whose memory is drawn.
  RankScene(CompareLook& look, std::function<void(int)> choose)
      : look_(look), choose_(std::move(choose)) {}
  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;

 private:
  CompareLook& look_;
  std::function<void(int)> choose_;
  Drawing last_{Size{}};
};

}  // namespace trainyard
