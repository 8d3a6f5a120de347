#version 450
// A vertex of Dear ImGui: device pixels to clip space.
layout(location = 0) in vec2 position;
layout(location = 1) in vec2 texel;
layout(location = 2) in vec4 colour;
layout(push_constant) uniform Map { vec2 scale; vec2 shift; } map;
layout(location = 0) out vec4 out_colour;
layout(location = 1) out vec2 out_texel;

void main() {
  out_colour = colour;
  out_texel = texel;
  gl_Position = vec4(position * map.scale + map.shift, 0, 1);
}
