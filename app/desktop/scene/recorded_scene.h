// A recorded trace on a canvas: wheel and keys zoom, pan and scroll, a drag
// chooses a range, a click a span.
#pragma once

#include <functional>
#include <memory>

#include "app/desktop/controls/canvas_widget.h"
#include "visualizers/recorded/recorded_view.h"

namespace trainyard {

class RecordedScene : public Scene {
 public:
  /// turned: range or selection are others now.
  explicit RecordedScene(std::function<void()> turned) : turned_(std::move(turned)) {}

  /// Null: nothing to show, and `words` say why.
  void set_model(std::shared_ptr<const RecordedModel>, const QString& words);
  void set_marks(RecordedMarks marks) { marks_ = std::move(marks); }
  const RecordedMarks& marks() const { return marks_; }
  const ViewState& state() const { return state_; }
  /// Selects a span and shows it.
  void show_span(std::uint64_t);

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;

 private:
  Rect area() const { return {0, 0, last_.size.width, last_.size.height}; }
  RecordedLayout layout() const { return recorded_layout(*model_, area(), state_); }
  TimeLimits limits() const { return {.first = model_->begin, .last = model_->end}; }
  void show(const Viewport&);
  void scroll_by(float);
  bool key(int pressed);
  void click(Point);
  bool mouse(const InputFrame&);

  std::function<void()> turned_;
  std::shared_ptr<const RecordedModel> model_;
  QString words_;
  RecordedMarks marks_;
  Drawing last_{Size{}};
  ViewState state_;
  Point pressed_;
  bool dragging_ = false;
};

}  // namespace trainyard
