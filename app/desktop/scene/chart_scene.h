// A ChartScene is one chart as a scene: a click chooses an item of it, and pointing at one tells
// about it. Before there is anything to draw, a sentence stands in its place.
#pragma once

#include <functional>

#include "app/desktop/controls/canvas_widget.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// A ChartOf says how a chart of a Model is drawn and told; the functions are those of its view.
template <class Model>
struct ChartOf {
  std::function<const Model*()> model;  // null while there is none
  void (*draw)(Drawing&, const Rect&, const Model&, const ViewState&) = nullptr;
  Hover (*describe)(const Model&, Item) = nullptr;
  std::function<QString(const Model&)> description;  // for people who cannot see it
  std::function<QString()> words;                    // what is said while there is no model
  std::function<void(Item)> chosen = [](Item) {};    // told the item that was clicked
};

class ChartScene : public Scene {
 public:
  template <class Model>
  explicit ChartScene(ChartOf<Model> chart)
      : words_(std::move(chart.words)), chosen_(std::move(chart.chosen)) {
    draw_ = [model = chart.model, draw = chart.draw](Drawing& drawing, const ViewState& state) {
      const Model* const found = model();
      if (found != nullptr) draw(drawing, whole(drawing.size), *found, state);
      return found != nullptr;
    };
    describe_ = [model = chart.model, describe = chart.describe](Item item) {
      const Model* const found = model();
      return found == nullptr ? Hover{} : describe(*found, item);
    };
    description_ = [model = chart.model, told = std::move(chart.description), words = words_] {
      const Model* const found = model();
      return found == nullptr ? words() : told(*found);
    };
  }

  void select(Item item) { state_.selected = item; }
  Item selected() const { return state_.selected; }
  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override { return description_(); }

 private:
  std::function<bool(Drawing&, const ViewState&)> draw_;  // false: there was nothing to draw
  std::function<Hover(Item)> describe_;
  std::function<QString()> description_, words_;
  std::function<void(Item)> chosen_;
  ViewState state_;
  Drawing last_{Size{}};
  bool drawn_ = false;
};

}  // namespace trainyard
