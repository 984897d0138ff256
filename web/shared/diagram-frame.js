// Draws a Mermaid diagram in a sandboxed frame, which diagrams.ts creates. Sends it the height, or that drawing failed.
/* global mermaid */

/** Limit of Mermaid. Above it, it would draw a message. */
const maxCharacters = 50_000
/** Diagrams shrink to this part of their size. On narrower screens, they scroll. */
const minScale = 0.6

// The frame has an opaque origin, so it cannot name the origin of its parent.
const send = (message) => parent.postMessage(message, '*')

/** Sends the height of the diagram, and of the scroll bar below it. */
const sendHeight = () => send({ height: document.body.scrollHeight + innerHeight - document.documentElement.clientHeight })

async function draw({ source, isDark }) {
  if (source.length > maxCharacters) throw new Error('The diagram is too long.')
  document.documentElement.style.colorScheme = isDark ? 'dark' : 'light'
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    suppressErrorRendering: true,
    theme: isDark ? 'dark' : 'default',
    fontFamily: 'ui-sans-serif, system-ui, sans-serif',
  })
  const { svg } = await mermaid.render('diagram', source)
  document.body.innerHTML = svg
  const drawing = document.querySelector('svg')
  drawing.style.minWidth = `${minScale * drawing.viewBox.baseVal.width}px`
  sendHeight()
}

addEventListener('message', ({ source, data }) => {
  if (source === parent) draw(data).catch(() => send({ hasFailed: true }))
})
addEventListener('resize', () => document.querySelector('svg') && sendHeight())
