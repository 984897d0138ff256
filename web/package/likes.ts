import { computed } from 'vue'
import { LikePackageDocument, UnlikePackageDocument } from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import { announce } from '../shared/announce.ts'
import { notify } from '../shared/notify.ts'

/** Likes or unlikes a package. The response contains the new count, which updates the page. */
export function useLike() {
  const like = useMutation(LikePackageDocument)
  const unlike = useMutation(UnlikePackageDocument)
  async function setLike(name: string, liked: boolean): Promise<unknown> {
    const result = await (liked ? like : unlike).run({ name })
    if (result && liked) announce(`You like ${name}`)
    else if (result) notify(`You no longer like ${name}.`, () => setLike(name, true))
    return result
  }
  return {
    setLike,
    running: computed(() => like.running.value || unlike.running.value),
    failure: computed(() => like.failure.value ?? unlike.failure.value),
  }
}
