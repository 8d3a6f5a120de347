// A scene of what was simulated: everything that such pictures have in common. While there is no
// experiment the picture is empty, answers nothing and says so.
#pragma once

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/session.h"

namespace trainyard {

class ExperimentScene : public Scene {
 public:
  /// name: what the picture is, as the beginning of a sentence: "Order of work".
  ExperimentScene(Session& session, QString name) : session_(session), name_(std::move(name)) {}

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) final;
  QString tooltip(Point) final;
  QString description() const final;
  Qt::CursorShape cursor(Point) final;

 protected:
  // Each is called only while there is an experiment.

  /// The picture at a size, for a screen with `scale` device pixels per logical one.
  virtual Drawing paint(Size, double scale) const = 0;
  /// Handles a frame of input. Returns whether to draw again.
  virtual bool take(const InputFrame&) = 0;
  /// What is at a point of the last picture; an empty title if there is nothing.
  virtual Hover describe(Point) const = 0;
  /// The picture in words, for assistive tools.
  virtual QString words() const = 0;
  virtual Qt::CursorShape shape(Point) const { return Qt::ArrowCursor; }
  /// What a click and keys do with the thing under the pointer, for the last line of its tip.
  virtual QString keys() const { return {}; }

  const ViewData& data() const { return *session_.data(); }
  Rect area() const { return {0, 0, last_.size.width, last_.size.height}; }

  Session& session_;
  Drawing last_{Size{}};
  double scale_ = 1;  // of the last picture

 private:
  QString name_;
};

}  // namespace trainyard
