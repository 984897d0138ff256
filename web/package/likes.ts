import { computed } from 'vue'
import { LikePackageDocument, UnlikePackageDocument } from '../generated/graphql.ts'
import { useChangedState, useMutation } from '../graphql.ts'
import { announce } from '../shared/announce.ts'
import { notify } from '../shared/notify.ts'

interface Likes {
  likeCount: number
  viewerHasLiked?: boolean | null
}

/** Likes or unlikes a package. `likes` is the state that the page has queried, or the one in a later response. */
export function useLike(queried: () => Likes | undefined) {
  const like = useMutation(LikePackageDocument)
  const unlike = useMutation(UnlikePackageDocument)
  const { state: likes, change } = useChangedState(queried)
  async function setLike(name: string, liked: boolean): Promise<unknown> {
    const result = await (liked ? like : unlike).run({ name })
    if (result) change('likePackage' in result ? result.likePackage.package : result.unlikePackage.package)
    if (result && liked) announce(`You like ${name}`)
    else if (result) notify(`You no longer like ${name}.`, () => setLike(name, true))
    return result
  }
  return {
    likes,
    setLike,
    running: computed(() => like.running.value || unlike.running.value),
    failure: computed(() => like.failure.value ?? unlike.failure.value),
  }
}
