// A CanvasWidget is an ordinary widget that shows a Drawing: it gathers input, asks its scene for a
// picture when one is needed, lets a Canvas turn it into pixels, and speaks for the picture to
// assistive tools.
#pragma once

#include <QImage>
#include <QWidget>

#include <memory>

#include "visualizers/imgui/canvas.h"

class QLabel;

namespace trainyard {

inline constexpr float kScrollStep = 48;   // px that an arrow key or a notch of the wheel scrolls
inline constexpr double kZoomStep = 1.25;  // by which a key zooms

/// px that the pointer may move in a click.
constexpr float kClick = 4;

/// A picture with behaviour. Owned by its widget; called on the window's thread.
class Scene {
 public:
  virtual ~Scene() = default;
  virtual Drawing draw(Size, double scale) = 0;
  /// What a frame of input does. True: draw again.
  virtual bool input(const InputFrame&) { return false; }
  /// What to say of the thing under the pointer, as rich text; empty: nothing.
  virtual QString tooltip(Point) { return {}; }
  virtual QString description() const = 0;
  /// Whether Page Up, Page Down and End are for it; else they are for what lies around the canvas.
  virtual bool takes_pages() const { return false; }
  virtual Qt::CursorShape cursor(Point) { return Qt::ArrowCursor; }
};

class CanvasWidget : public QWidget {
  Q_OBJECT

 public:
  CanvasWidget(const QString& accessible_name, std::unique_ptr<Scene>, QWidget* parent = nullptr);
  ~CanvasWidget() override;

  Scene& scene() { return *scene_; }
  /// Draw again when next shown.
  void refresh();
  /// "software: no Vulkan driver found".
  QString why() const;
  QString renderer() const;
  void try_gpu_again();
  /// Paler than usual: what it shows is not true any more.
  void set_dimmed(bool);
  /// Of the last picture, in milliseconds.
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
  std::unique_ptr<Canvas> canvas_;  // made when first painted
  std::unique_ptr<Drawing> drawing_;
  QImage image_;  // wraps the canvas's pixels
  bool dirty_ = true;
  bool dimmed_ = false;
  double frame_time_ = 0;
  QString told_;
  QLabel* tip_ = nullptr;
};

/// The keys of the window system that canvases read.
std::uint8_t modifiers_of(Qt::KeyboardModifiers);

}  // namespace trainyard
