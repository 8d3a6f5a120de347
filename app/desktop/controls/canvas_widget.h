// A CanvasWidget is a widget that shows a Drawing: it collects input, asks its scene for a picture
// when one is needed, lets a Canvas turn it into pixels, and describes the picture to assistive
// tools.
#pragma once

#include <QImage>
#include <QWidget>

#include <memory>

#include "visualizers/imgui/canvas.h"

class QLabel;

namespace trainyard {

inline constexpr float kScrollStep = 48;   // pixels per arrow key or notch of the wheel
inline constexpr double kZoomStep = 1.25;  // zoom factor per key press

/// The most pixels that the pointer may move during a click.
constexpr float kClick = 4;

/// A Scene is a picture with behaviour. Its widget owns it and calls it on the window's thread.
class Scene {
 public:
  virtual ~Scene() = default;
  virtual Drawing draw(Size, double scale) = 0;
  /// Handles a frame of input. Returns whether to draw again.
  virtual bool input(const InputFrame&) { return false; }
  /// The rich text about what is under the pointer; empty if there is nothing.
  virtual QString tooltip(Point) { return {}; }
  virtual QString description() const = 0;
  /// Returns whether it handles Page Up, Page Down and End; otherwise they go to the widgets around
  /// the canvas.
  virtual bool takes_pages() const { return false; }
  virtual Qt::CursorShape cursor(Point) { return Qt::ArrowCursor; }
};

class CanvasWidget : public QWidget {
  Q_OBJECT

 public:
  CanvasWidget(const QString& accessible_name, std::unique_ptr<Scene>, QWidget* parent = nullptr);
  ~CanvasWidget() override;

  Scene& scene() { return *scene_; }
  /// Draws again when next shown.
  void refresh();
  /// Why this renderer is used: "software: no Vulkan driver found".
  QString why() const;
  QString renderer() const;
  void try_gpu_again();
  /// Draws paler, to show that the picture is out of date.
  void set_dimmed(bool);
  /// The time to draw the last picture, in milliseconds.
  double frame_time() const { return frame_time_; }
  const Drawing* drawing() const { return drawing_.get(); }

 Q_SIGNALS:
  void renderer_changed();
  void painted();

 protected:
  bool event(QEvent*) override;
  void paintEvent(QPaintEvent*) override;
  void resizeEvent(QResizeEvent*) override;
  void mouseMoveEvent(QMouseEvent*) override;
  void mousePressEvent(QMouseEvent*) override;
  void mouseReleaseEvent(QMouseEvent*) override;
  void mouseDoubleClickEvent(QMouseEvent*) override;
  void wheelEvent(QWheelEvent*) override;
  void keyPressEvent(QKeyEvent*) override;
  void leaveEvent(QEvent*) override;
  void focusInEvent(QFocusEvent*) override;
  void focusOutEvent(QFocusEvent*) override;

 private:
  Canvas& canvas();
  void take_input();
  void push(InputEvent);
  void button(QMouseEvent*, bool down, bool twice = false);
  void show_tip(QPoint);
  void hide_tip();

  std::unique_ptr<Scene> scene_;
  std::unique_ptr<Canvas> canvas_;  // created at the first painting
  std::unique_ptr<Drawing> drawing_;
  QImage image_;  // wraps the canvas's pixels
  bool dirty_ = true;
  bool dimmed_ = false;
  double frame_time_ = 0;
  QString told_;
  QLabel* tip_ = nullptr;
};

/// The modifier keys in the form that canvases read.
std::uint8_t modifiers_of(Qt::KeyboardModifiers);

}  // namespace trainyard
