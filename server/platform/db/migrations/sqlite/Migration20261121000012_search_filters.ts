import { Migration } from '@mikro-orm/migrations'

// Recreates the search index with an additional column for tags. The server fills the index when it starts (server/search/rebuild.ts).
export class Migration20261121000012_search_filters extends Migration {
  override up() {
    this.addSql('alter table `package_versions` add column `license` text null;')
    this.addSql('create index `package_versions_package_id_retracted_at_index` on `package_versions` (`package_id`, `retracted_at`);')
    this.addSql('drop table `package_search_documents`;')
    this.addSql('drop table `package_search_brief`;')
    this.addSql('drop table `package_search_full`;')
    this.addSql('drop table `package_search_trigrams`;')
    this.addSql('create table `package_search_documents` (`id` integer primary key, `package_id` text not null unique references `packages` (`id`) on delete cascade, `name` text not null unique, `created_at` integer not null, `updated_at` integer not null, `shown_to` integer not null, `downloads` integer not null default 0, `likes` integer not null default 0, `tags` text not null);')
    this.addSql('create index `package_search_documents_updated` on `package_search_documents` (`updated_at`, `id`);')
    this.addSql('create index `package_search_documents_public_updated` on `package_search_documents` (`updated_at`, `id`) where `shown_to` = 2;')
    this.addSql('create index `package_search_documents_created` on `package_search_documents` (`created_at`, `id`);')
    this.addSql('create index `package_search_documents_public_created` on `package_search_documents` (`created_at`, `id`) where `shown_to` = 2;')
    this.addSql('create index `package_search_documents_downloads` on `package_search_documents` (`downloads`, `id`);')
    this.addSql('create index `package_search_documents_public_downloads` on `package_search_documents` (`downloads`, `id`) where `shown_to` = 2;')
    this.addSql('create index `package_search_documents_likes` on `package_search_documents` (`likes`, `id`);')
    this.addSql('create index `package_search_documents_public_likes` on `package_search_documents` (`likes`, `id`) where `shown_to` = 2;')
    this.addSql('create index `package_search_documents_public_name` on `package_search_documents` (`name`) where `shown_to` = 2;')
    this.addSql('create index `package_search_documents_shown_to` on `package_search_documents` (`shown_to`);')
    this.addSql("create virtual table `package_search_brief` using fts5(`words`, `parts`, `description`, `topics`, `tags`, content='', contentless_delete=1, detail=column, prefix='1 2 3', tokenize='ascii');")
    this.addSql("create virtual table `package_search_full` using fts5(`terms`, content='', contentless_delete=1, detail=none, prefix='1 2 3', tokenize='ascii');")
    this.addSql("create virtual table `package_search_trigrams` using fts5(`name`, content='', contentless_delete=1, detail=none, tokenize='trigram');")
    this.addSql('create trigger `package_search_forget` after delete on `package_search_documents` begin delete from `package_search_brief` where rowid = old.`id`; delete from `package_search_full` where rowid = old.`id`; delete from `package_search_trigrams` where rowid = old.`id`; end;')
  }
}
