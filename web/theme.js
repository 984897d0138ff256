// Runs before the first paint, so that a dark page never flashes white. The key and values are those of VueUse's color mode.
;(() => {
  let chosen = null
  try {
    chosen = localStorage.getItem('vueuse-color-scheme')
  } catch {
    // Without storage the system decides.
  }
  const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.classList.toggle('dark', dark)
})()
