#include "app/desktop/controls/canvas_widget.h"

#include <QElapsedTimer>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QScreen>
#include <QWheelEvent>

#include <cmath>

#include "app/desktop/controls/preferences.h"
#include "app/desktop/controls/theme.h"

namespace trainyard {
namespace {

std::size_t button_of(Qt::MouseButton button) {
  if (button == Qt::RightButton) return 1;
  return button == Qt::MiddleButton ? 2 : 0;
}

// A point of the drawing, which ui_scale() enlarges.
Point point_of(const QPointF& p) {
  return {static_cast<float>(p.x() / ui_scale()), static_cast<float>(p.y() / ui_scale())};
}

// Keys with these modifiers belong to the window's commands; Alt with Left and Right moves the
// selection.
constexpr Qt::KeyboardModifiers kCommandKeys =
    Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier;

bool canvas_key(const QKeyEvent& event, bool pages) {
  const bool sideways = event.key() == Qt::Key_Left || event.key() == Qt::Key_Right;
  const Qt::KeyboardModifiers command = event.modifiers() & kCommandKeys;
  if (command && !(sideways && command == Qt::AltModifier)) return false;
  switch (event.key()) {
    case Qt::Key_W:
    case Qt::Key_A:
    case Qt::Key_S:
    case Qt::Key_D:
    case Qt::Key_L:
    case Qt::Key_X:
    case Qt::Key_F:
    case Qt::Key_P:
    case Qt::Key_B:
    case Qt::Key_C:
    case Qt::Key_M:
    case Qt::Key_R:
    case Qt::Key_Slash:
    case Qt::Key_BracketLeft:
    case Qt::Key_BracketRight:
    case Qt::Key_Comma:
    case Qt::Key_Period:
    case Qt::Key_Plus:
    case Qt::Key_Minus:
    case Qt::Key_Equal:
    case Qt::Key_Home:
    case Qt::Key_Escape:
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return true;
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
    case Qt::Key_End:
      return pages;
    default:
      return false;
  }
}

}  // namespace

std::uint8_t modifiers_of(Qt::KeyboardModifiers held) {
  return static_cast<std::uint8_t>((held & Qt::ShiftModifier ? kShift : 0) |
                                   (held & Qt::ControlModifier ? kControl : 0) |
                                   (held & Qt::AltModifier ? kAlt : 0));
}

CanvasWidget::CanvasWidget(const QString& accessible_name, std::unique_ptr<Scene> scene,
                           QWidget* parent)
    : QWidget(parent), scene_(std::move(scene)) {
  setAccessibleName(accessible_name);
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAttribute(Qt::WA_OpaquePaintEvent);
}

CanvasWidget::~CanvasWidget() { delete tip_; }

Canvas& CanvasWidget::canvas() {
  if (!canvas_) {
    canvas_ = std::make_unique<Canvas>(choose_renderer(renderer_in_use()), font_files());
    Q_EMIT renderer_changed();
  }
  return *canvas_;
}

QString CanvasWidget::why() const {
  return canvas_ ? QString::fromStdString(canvas_->why()) : QString();
}

QString CanvasWidget::renderer() const {
  return canvas_ ? QString::fromUtf8(canvas_->renderer().data(),
                                     static_cast<qsizetype>(canvas_->renderer().size()))
                 : QString();
}

void CanvasWidget::try_gpu_again() {
  canvas().use(choose_renderer(RendererChoice::Vulkan));
  Q_EMIT renderer_changed();
  refresh();
}

void CanvasWidget::refresh() {
  dirty_ = true;
  update();
}

void CanvasWidget::set_dimmed(bool dimmed) {
  if (dimmed_ == dimmed) return;
  dimmed_ = dimmed;
  update();
}

void CanvasWidget::take_input() {
  InputQueue& queue = canvas().input();
  while (queue.pending())
    if (scene_->input(queue.next_frame())) dirty_ = true;
}

void CanvasWidget::paintEvent(QPaintEvent*) {
  const double scale = devicePixelRatioF() * ui_scale();
  take_input();
  if (dirty_ && width() > 0 && height() > 0) {
    QElapsedTimer clock;
    clock.start();
    const std::string before = canvas().why();
    drawing_ = std::make_unique<Drawing>(scene_->draw(
        {static_cast<float>(width() / ui_scale()), static_cast<float>(height() / ui_scale())},
        scale));
    const Image& pixels = canvas().paint(*drawing_, scale, current_theme());
    image_ = QImage(pixels.rgba.data(), pixels.width, pixels.height, 4 * pixels.width,
                    QImage::Format_RGBX8888);
    image_.setDevicePixelRatio(devicePixelRatioF());
    frame_time_ = static_cast<double>(clock.nsecsElapsed()) * 1e-6;
    dirty_ = false;
    if (before != canvas().why()) Q_EMIT renderer_changed();
    const QString described = scene_->description();
    if (described != told_) setAccessibleDescription(told_ = described);
  }
  QPainter p(this);
  const bool covered = image_.width() >= width() * devicePixelRatioF() &&
                       image_.height() >= height() * devicePixelRatioF();
  if (dimmed_ || !covered) p.fillRect(rect(), qcolor(Ink::Canvas, current_theme()));
  if (dimmed_) p.setOpacity(0.45);
  p.drawImage(QPointF(0, 0), image_);
  p.setOpacity(1);
  if (hasFocus()) {
    p.setPen(qcolor(Ink::Accent, current_theme()));
    p.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
  Q_EMIT painted();
}

void CanvasWidget::resizeEvent(QResizeEvent*) { refresh(); }

bool CanvasWidget::event(QEvent* event) {
  switch (event->type()) {
    case QEvent::ShortcutOverride:
      if (canvas_key(*static_cast<QKeyEvent*>(event), scene_->takes_pages())) event->accept();
      break;
    case QEvent::ScreenChangeInternal:
    case QEvent::PaletteChange:
    case QEvent::StyleChange:
      refresh();
      break;
    default:
      break;
  }
  return QWidget::event(event);
}

void CanvasWidget::push(InputEvent event) {
  canvas().input().push(std::move(event));
  update();
}

void CanvasWidget::mouseMoveEvent(QMouseEvent* event) {
  push({.kind = InputEvent::Kind::Move,
        .at = point_of(event->position()),
        .modifiers = modifiers_of(event->modifiers())});
  setCursor(scene_->cursor(point_of(event->position())));
  if (event->buttons() == Qt::NoButton) show_tip(event->position().toPoint());
}

void CanvasWidget::button(QMouseEvent* event, bool down, bool twice) {
  hide_tip();
  const std::uint8_t held = modifiers_of(event->modifiers());
  push({.kind = InputEvent::Kind::Move, .at = point_of(event->position()), .modifiers = held});
  push({.kind = InputEvent::Kind::Button,
        .button = button_of(event->button()),
        .down = down,
        .twice = twice,
        .modifiers = held});
}

void CanvasWidget::mousePressEvent(QMouseEvent* event) { button(event, true); }
void CanvasWidget::mouseReleaseEvent(QMouseEvent* event) { button(event, false); }
void CanvasWidget::mouseDoubleClickEvent(QMouseEvent* event) { button(event, true, true); }

void CanvasWidget::wheelEvent(QWheelEvent* event) {
  const QPointF notches = event->pixelDelta().isNull() ? QPointF(event->angleDelta()) / 120.0
                                                       : QPointF(event->pixelDelta()) / 40.0;
  push({.kind = InputEvent::Kind::Wheel,
        .dx = static_cast<float>(notches.x()),
        .dy = static_cast<float>(notches.y()),
        .modifiers = modifiers_of(wheel_zooms() ? event->modifiers() ^ Qt::ControlModifier
                                                : event->modifiers())});
  event->accept();
}

void CanvasWidget::keyPressEvent(QKeyEvent* event) {
  if (!canvas_key(*event, scene_->takes_pages())) return QWidget::keyPressEvent(event);
  const std::uint8_t held = modifiers_of(event->modifiers());
  push({.kind = InputEvent::Kind::Key, .down = true, .key = event->key(), .modifiers = held});
  push({.kind = InputEvent::Kind::Key, .down = false, .key = event->key(), .modifiers = held});
}

void CanvasWidget::leaveEvent(QEvent*) {
  hide_tip();
  push({.kind = InputEvent::Kind::Leave});
}

void CanvasWidget::focusInEvent(QFocusEvent*) {
  push({.kind = InputEvent::Kind::Focus, .down = true});
}
void CanvasWidget::focusOutEvent(QFocusEvent*) {
  push({.kind = InputEvent::Kind::Focus, .down = false});
}

void CanvasWidget::show_tip(QPoint at) {
  const QString text = scene_->tooltip(point_of(at));
  if (text.isEmpty()) return hide_tip();
  if (tip_ == nullptr) {
    tip_ = new QLabel(nullptr, Qt::ToolTip | Qt::FramelessWindowHint);
    tip_->setObjectName("tooltip");
    tip_->setAttribute(Qt::WA_ShowWithoutActivating);
    tip_->setAttribute(Qt::WA_TransparentForMouseEvents);
    tip_->setAccessibleName("Under the pointer");
    tip_->setTextFormat(Qt::RichText);
  }
  tip_->setText(text);
  tip_->adjustSize();
  QPoint place = mapToGlobal(at + QPoint(14, 18));
  const QRect area = screen()->availableGeometry();
  if (place.x() + tip_->width() > area.right())
    place.setX(mapToGlobal(at).x() - tip_->width() - 10);
  if (place.y() + tip_->height() > area.bottom())
    place.setY(mapToGlobal(at).y() - tip_->height() - 10);
  tip_->move(place);
  tip_->show();
}

void CanvasWidget::hide_tip() {
  if (tip_ != nullptr) tip_->hide();
}

}  // namespace trainyard
