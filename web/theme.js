// Applies the color mode before the first paint, so that dark pages do not flash white. Uses the storage key and values of VueUse's useColorMode.
;(() => {
  let chosen = null
  try {
    chosen = localStorage.getItem('vueuse-color-scheme')
  } catch {
    // Storage is unavailable: use the system's color scheme.
  }
  const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.classList.toggle('dark', dark)
})()
