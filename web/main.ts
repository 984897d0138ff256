import './main.css'
import urql from '@urql/vue'
import { createApp } from 'vue'
import App from './app.vue'
import { restoreFocusAfterMutations } from './shared/focus-restoration.ts'
import { trackOpening } from './shared/navigation.ts'
import { trackNavigation } from './shared/page-title.ts'
import { isProofAsked } from './sign-in/proof.ts'
import { ensureSameAccount, forgetViewer } from './sign-in/session.ts'
import { loadTexts } from './documents.ts'
import { client, onSignedOut } from './graphql.ts'
import { recoverMissingChunks } from './missing-chunks.ts'
import { nuxtUi } from './nuxt-ui.ts'
import { prefetchLinks } from './prefetch.ts'
import { loginRoute, router } from './router.ts'

trackNavigation(router)
trackOpening(router)
restoreFocusAfterMutations()
recoverMissingChunks(router)
prefetchLinks(router)
onSignedOut(() => {
  if (isProofAsked.value) return // the user can sign in again in the open dialog, without leaving the page
  forgetViewer()
  if (!router.currentRoute.value.meta.open) void router.push(loginRoute(router.currentRoute.value.fullPath))
})
setTimeout(() => void loadTexts(), 10_000)
window.addEventListener('focus', () => void ensureSameAccount())

createApp(App).use(urql, client).use(router).use(nuxtUi).mount('#app')
