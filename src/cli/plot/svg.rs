//! Scenes as SVG.

use super::png;
use super::scene::{Anchor, CHARACTER_WIDTH, Colour, PAPER, Part, Rectangle, Scene, Text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

/// Size of the font whose characters are [`CHARACTER_WIDTH`] wide. In usual monospaced fonts, the
/// width of a character is 0.6 times the size of the font.
const FONT_SIZE: f64 = CHARACTER_WIDTH as f64 / 0.6;

/// Returns the text of an SVG file.
pub(super) fn encode(scene: &Scene) -> Vec<u8> {
    let (width, height) = (scene.width, scene.height);
    let page = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox=(format!("0 0 {width} {height}"))
            font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
            font-size=(format!("{FONT_SIZE:.2}")) {
            (rectangle(&Rectangle { x: 0, y: 0, width, height }, PAPER, None))
            @for part in &scene.parts { (draw_part(part)) "\n" }
        }
    };
    (page.into_string() + "\n").into_bytes()
}

fn draw_part(part: &Part) -> Markup {
    match part {
        Part::Rectangle { at, colour, description } => rectangle(at, *colour, description.as_deref()),
        Part::Text(Text { x, y, anchor, colour, text }) => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            html! {
                text x=(x) y=(y) text-anchor=(anchor) dominant-baseline="central" fill=(hexadecimal(*colour)) {
                    // Most control characters are invalid in XML.
                    (text.replace(char::is_control, " "))
                }
            }
        }
        Part::Raster { x, y, raster } => {
            let data = STANDARD.encode(png::encode(raster));
            html! {
                image x=(x) y=(y) width=(raster.width) height=(raster.height) style="image-rendering: pixelated"
                    href=(format!("data:image/png;base64,{data}")) {}
            }
        }
    }
}

fn rectangle(at: &Rectangle, colour: Colour, description: Option<&str>) -> Markup {
    html! {
        rect x=(at.x) y=(at.y) width=(at.width) height=(at.height) fill=(hexadecimal(colour)) {
            @if let Some(description) = description { title { (description) } }
        }
    }
}

fn hexadecimal([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
