import { createRequire } from 'node:module';
import { getDomain } from 'tldts';

/**
 * Hosts whose pages belong to others than the owner of the host. What is behind `linkedin.com/` says
 * nothing about LinkedIn, and `linkedin.com` alone is LinkedIn.
 *
 * An entry is a domain, with all hosts below it; `=` before it leaves those out (there each customer
 * has a host), `.*` at its end stands for any public suffix. A path limits it to what is behind that
 * path.
 *
 * No package lists all these kinds. The entries are the largest of each kind. Longer lists of single
 * kinds, to compare with: MISP's `url-shortener` warning list, the profile properties of Wikidata.
 */
const SHARED = {
  social:
    'facebook.com fb.com fb.me fb.watch m.me messenger.com instagram.com instagr.am threads.net threads.com ' +
    'twitter.com x.com t.co linkedin.com lnkd.in xing.com youtube.com youtu.be tiktok.com pinterest.* pin.it ' +
    'snapchat.com reddit.com redd.it vk.com vkontakte.ru vk.cc ok.ru weibo.com weibo.cn t.cn weixin.qq.com ' +
    'mp.weixin.qq.com qzone.qq.com douyin.com xiaohongshu.com xhslink.com bilibili.com b23.tv zhihu.com ' +
    'kuaishou.com line.me lin.ee pf.kakao.com open.kakao.com band.us blog.naver.com cafe.naver.com wa.me ' +
    'whatsapp.com t.me telegram.me discord.gg discord.com discordapp.com signal.me twitch.tv vimeo.com ' +
    'dailymotion.com rumble.com flickr.com flic.kr 500px.com behance.net dribbble.com deviantart.com soundcloud.com ' +
    'mixcloud.com open.spotify.com podcasters.spotify.com spoti.fi music.apple.com podcasts.apple.com meetup.com ' +
    'nextdoor.com bsky.app mastodon.social mastodon.online mstdn.social fosstodon.org truthsocial.com gab.com ' +
    'gettr.com clubhouse.com quora.com researchgate.net academia.edu slideshare.net issuu.com scribd.com ' +
    '=tumblr.com =medium.com =substack.com =livejournal.com =bandcamp.com github.com gitlab.com bitbucket.org ' +
    'sourceforge.net huggingface.co stackoverflow.com/users npmjs.com/package npmjs.com/~ pypi.org/project ' +
    'hub.docker.com',
  shorteners:
    'bit.ly bitly.com bitly.ws bit.do j.mp goo.gl g.co tinyurl.com tiny.cc tiny.one ow.ly ht.ly owl.li is.gd v.gd ' +
    'buff.ly rebrand.ly rb.gy cutt.ly cutt.us cut.ly shorturl.at shorturl.com short.io short.gy shrtco.de t.ly t2m.io ' +
    's.id u.to bl.ink b.link lnk.to dlvr.it ift.tt trib.al adf.ly bc.vc adfoc.us soo.gd clck.ru goo.su tr.im x.co ' +
    'su.pr snip.ly po.st mcaf.ee shor.by smarturl.it dub.sh dub.co kutt.it kutt.to y.gy urlz.fr lc.cx chilp.it cli.gs ' +
    'ity.im surl.li l1nk.dev zpr.io qr.ae qrco.de qr.page me-qr.com q-r.to amzn.to amzn.eu amzn.com a.co ebay.us etsy.me ' +
    'apple.co nyti.ms wp.me aka.ms 1drv.ms db.tt hubs.ly hubs.li hubs.la mailchi.mp eepurl.com conta.cc sforce.co ' +
    'pse.is reurl.cc ppt.cc lihi1.com han.gl me2.do naver.me url.kr suo.im dwz.cn url.cn n9.cl acortar.link ' +
    'encurtador.com.br abre.ai bom.so 2no.co iplogger.org page.link app.link onelink.me go.link sng.link adj.st ' +
    'hyperurl.co linktw.in git.io',
  linkPages:
    'linktr.ee linktree.com beacons.ai beacons.page bio.link bio.site bio.fm lnk.bio linkin.bio campsite.bio ' +
    'taplink.cc taplink.ws tap.bio hoo.be solo.to msha.ke milkshake.app heylink.me linkpop.com koji.to allmylinks.com ' +
    'about.me flow.page direct.me lynk.id lit.link znap.link instabio.cc contactinbio.com linkfly.to bento.me ' +
    'snipfeed.co stan.store pillar.io komi.io linkbio.co many.link zaap.bio gravatar.com keybase.io calendly.com cal.com zoom.us/j meet.google.com teams.microsoft.com ' +
    'youcanbook.me forms.gle docs.google.com drive.google.com forms.office.com surveymonkey.com jotform.com eventbrite.* ' +
    'patreon.com ko-fi.com buymeacoffee.com gofundme.com kickstarter.com indiegogo.com paypal.me paypal.com/paypalme ' +
    'venmo.com cash.app',
  appStores:
    'apps.apple.com itunes.apple.com appsto.re play.google.com market.android.com chrome.google.com ' +
    'chromewebstore.google.com workspace.google.com/marketplace apps.microsoft.com microsoft.com/store microsoft.com/p ' +
    'appsource.microsoft.com marketplace.visualstudio.com appgallery.huawei.com galaxystore.samsung.com apkpure.com ' +
    'store.steampowered.com addons.mozilla.org apps.shopify.com appexchange.salesforce.com wordpress.org/plugins f-droid.org',
  maps:
    'maps.google.* google.*/maps google.*/search google.*/imgres google.*/travel news.google.com g.page maps.apple.com bing.com/maps bing.com/search search.yahoo.* search.brave.com duckduckgo.com ' +
    'business.google.com plus.google.com profile.google.com share.google openstreetmap.org osm.org waze.com yandex.*/maps yandex.*/search ' +
    '2gis.* map.baidu.com j.map.baidu.com amap.com map.naver.com map.kakao.com mapquest.com wego.here.com what3words.com w3w.co',
  directories:
    'wikipedia.org wikidata.org crunchbase.com angel.co wellfound.com producthunt.com trustpilot.* glassdoor.* indeed.* kununu.com ' +
    'yelp.* tripadvisor.* foursquare.com 4sq.com zoominfo.com opencorporates.com northdata.* bloomberg.com/profile ' +
    'manta.com bbb.org yellowpages.* gelbeseiten.de 11880.com dasoertliche.de pagesjaunes.fr paginegialle.it houzz.* zomato.com ' +
    'opentable.* booking.com/hotel airbnb.*/rooms airbnb.*/h expedia.* imdb.com',
  marketplaces:
    'amazon.* ebay.* etsy.com aliexpress.* alibaba.com 1688.com taobao.com tmall.com jd.com walmart.com/seller walmart.com/ip ' +
    'rakuten.co.jp mercadolibre.* mercadolivre.com.br allegro.pl shopee.* lazada.* tokopedia.com flipkart.com indiamart.com ' +
    'made-in-china.com globalsources.com depop.com poshmark.com vinted.* redbubble.com society6.com zazzle.com fiverr.com upwork.com ' +
    'freelancer.com malt.* kleinanzeigen.de craigslist.org leboncoin.fr gumtree.com olx.* avito.ru ozon.ru/seller ' +
    'ubereats.com doordash.com grubhub.com lieferando.de deliveroo.* just-eat.* =gumroad.com',
  builders:
    'sites.google.com =wixsite.com =weebly.com =canva.site canva.com/design =notion.site notion.so =tripod.com angelfire.com ' +
    'geocities.com geocities.jp homepage.t-online.de home.t-online.de perso.orange.fr perso.wanadoo.fr home.arcor.de ' +
    'members.aol.com users.skynet.be s3.amazonaws.com storage.googleapis.com onedrive.live.com dropbox.com/s dropbox.com/scl ' +
    'raw.githubusercontent.com',
} as const;

/**
 * Links that lead elsewhere: of searches, mail scanners, networks, archives. Where the target stands
 * is found from how it is written (see `targetsIn`); `?name` says in which parameter, where others
 * hold addresses too.
 */
const WRAPPERS =
  'google.*/url google.*/amp google.*/imgres?imgrefurl google.*/aclk?adurl google.*/s2/favicons logo.clearbit.com googleadservices.com?adurl doubleclick.net ' +
  'webcache.googleusercontent.com translate.google.* translate.goog translate.googleusercontent.com cdn.ampproject.org youtube.com/redirect ' +
  'bing.com/ck bing.com/aclick r.search.yahoo.com duckduckgo.com/l yandex.*/clck baidu.com/link ecosia.org/url startpage.com/do ' +
  'safelinks.protection.outlook.com safelink.emails.azure.net statics.teams.cdn.office.net urldefense.com urldefense.us ' +
  'urldefense.proofpoint.com mimecast.com/s mimecastprotect.com mimecast.com/redirect linkprotect.cudasvc.com ' +
  'protection.sophos.com trendmicro.com/wis protect2.fireeye.com clicktime.symantec.com secure-web.cisco.com ' +
  'url.avanan.click protect.checkpoint.com link.edgepilot.com url.emailprotection.link shared.outlook.inky.com urlsand.esvalabs.com scanner.vadesecure.com deref-gmx.net deref-web.de ' +
  'deref-mail.com awstrack.me mandrillapp.com/track list-manage.com/track ct.sendgrid.net acemlnb.com acemlna.com mailtrack.io/trace hubspotlinks.com ' +
  'l.facebook.com lm.facebook.com facebook.com/l.php facebook.com/flx/warn facebook.com/sharer l.messenger.com ' +
  'l.instagram.com l.threads.com l.threads.net linkedin.com/redir linkedin.com/safety linkedin.com/sharearticle ' +
  'twitter.com/intent x.com/intent twitter.com/share reddit.com/submit out.reddit.com vk.com/away.php ok.ru/dk ' +
  'weibo.cn/sinaurl link.zhihu.com link.juejin.cn steamcommunity.com/linkfilter slack-redir.net disq.us t.umblr.com ' +
  'href.li exit.sc gate.sc pinterest.*/offsite medium.com/r yelp.*/biz_redir xing.com/redir anonym.to nullrefer.com ' +
  'dereferer.org dereferer.me web.archive.org/web archive.org/wayback archive.ph archive.today archive.is ' +
  'viglink.com redirectingat.com linksynergy.com awin1.com prf.hn anrdoezrs.net dpbolvw.net tkqlhce.com jdoqocy.com ' +
  'kqzyfj.com shareasale.com';

/**
 * Finds out whether what is behind a host belongs to others than the owner of the host.
 *
 * @param host in ASCII, without `www.`
 * @param registered its registrable part
 * @param behind path, query and fragment
 * @returns if so, texts that may be where it leads, the most likely first; none for most pages
 */
export function findSharedPage(
  host: string,
  registered: string,
  behind: string,
): readonly string[] | undefined {
  links ??= byDomain(WRAPPERS);
  pages ??= byDomain(Object.values(SHARED).join(' '));
  const link = findEntry(links, host, registered, behind);
  if (link !== undefined) return targetsIn(behind, link.parameter);
  return findEntry(pages, host, registered, behind) === undefined ? undefined : [];
}

let links: EntriesByDomain | undefined;
let pages: EntriesByDomain | undefined;

/** By registrable domain. */
type EntriesByDomain = ReadonlyMap<string, readonly Entry[]>;

function byDomain(entries: string): EntriesByDomain {
  const found = new Map<string, Entry[]>();
  for (const entry of entries.split(' ').map(readEntry)) {
    const domain = getDomain(entry.name, ENTRY_DOMAIN) ?? '';
    found.set(domain, [...(found.get(domain) ?? []), entry]);
  }
  return found;
}

/** `google.*` passes for a domain of the unknown suffix `*`. */
const ENTRY_DOMAIN = { extractHostname: false, validateHostname: false };

interface Entry {
  readonly name: string;
  /** Hosts below do not count. */
  readonly isExact: boolean;
  readonly path: string;
  readonly parameter: string | undefined;
}

function readEntry(entry: string): Entry {
  const [, exact = '', name = '', path = '', parameter] = ENTRY.exec(entry) ?? [];
  return { name, isExact: exact !== '', path, parameter };
}

const ENTRY = /^(=?)([^/?]+)(\/[^?]*)?(?:\?(.*))?$/;

function findEntry(
  entries: EntriesByDomain,
  host: string,
  registered: string,
  behind: string,
): Entry | undefined {
  const name = registered.slice(0, registered.indexOf('.'));
  for (const domain of [registered, `${name}.*`]) {
    const written = host.slice(0, -registered.length) + domain;
    const found = entries
      .get(domain)
      ?.find((entry) => isAt(entry, written) && isBehind(entry.path, behind));
    if (found) return found;
  }
  return undefined;
}

function isAt({ name, isExact }: Entry, host: string): boolean {
  return host === name || (!isExact && host.endsWith(`.${name}`));
}

/** Nothing but the host's own front page. */
const HOME = /^[\\/]*(?:(?:index|default|home)(?:\.[a-z]{2,5})?[\\/]?)?(?:#(?![!/]).*)?$/i;

function isBehind(path: string, behind: string): boolean {
  if (path === '') return !HOME.test(behind);
  const end = path.length;
  const isWord = /[\w-]{2}/.test(behind.slice(end - 1, end + 1)); // `/products` is not behind `/p`
  return behind.slice(0, end).toLowerCase() === path && !isWord;
}

const MOST_TARGETS = 8;
const URL_START = /^(?:(?:https?|ftp):[\\/]|\/\/|www\.)/i;
const URL_IN_PATH = /(?:^|[^a-z])(https?(?::|%3a)(?:\/|%2f){1,2}.+)/i;
/** Where Proofpoint ends it, unless with another link of its own. */
const END_OF_URL_IN_PATH = /__(?!http)/i;
const BARE_HOST = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+(?=$|[/:?])/i;

/**
 * The addresses in a link: a parameter that is a URL, a URL in the path, a parameter or a part of
 * the path that is a host. Percent-encoded, once or more, in Base64 or as Proofpoint writes.
 */
function targetsIn(behind: string, parameter: string | undefined): readonly string[] {
  const [path = ''] = behind.split(/[?#]/, 1);
  const [, inPath = ''] = URL_IN_PATH.exec(path) ?? [];
  const texts = [
    ...valuesIn(behind.slice(path.length + 1), parameter),
    ...decode(inPath).split(END_OF_URL_IN_PATH, 1),
    ...path.split('/').map(decode),
  ];
  return [
    ...texts.filter((text) => URL_START.test(text)),
    ...texts.filter((text) => BARE_HOST.test(text)),
  ].slice(0, MOST_TARGETS);
}

function valuesIn(query: string, parameter: string | undefined): readonly string[] {
  return query.split(/[&;#]/, 100).flatMap((pair) => {
    if (URL_START.test(pair)) return [pair];
    if (parameter !== undefined && !pair.startsWith(`${parameter}=`)) return [];
    const value = decode(pair.slice(pair.indexOf('=') + 1));
    return [value.replace(/^cache:(?:[\w-]+:)?/i, '')];
  });
}

function decode(text: string): string {
  let plain = text;
  // No further than to a URL: what is encoded in it is its own.
  for (let times = 0; times < 3 && plain.includes('%') && !URL_START.test(plain); times += 1) {
    plain = decodePercent(plain);
  }
  if (/^https?-3a/i.test(plain)) {
    return decodePercent(plain.replaceAll('-', '%').replaceAll('_', '/')); // Proofpoint's version 2
  }
  const base64 = /^(?:a1)?(aHR0c.+)/.exec(plain)?.[1]; // begins with `http`
  return base64 === undefined ? plain : Buffer.from(base64, 'base64').toString('utf8');
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Whether anybody can have an e-mail address at a domain, so that it says nothing about the owner
 * of an address there. These are free mail services, and mail of Internet access providers. Loaded
 * from the package `email-providers` at the first call.
 */
export function isFreeMail(domain: string): boolean {
  listed ??= loadListed();
  return ADDED.has(domain) || (listed.has(domain) && !LEFT_OUT.has(domain));
}

let listed: ReadonlySet<string> | undefined;

function loadListed(): ReadonlySet<string> {
  const require = createRequire(import.meta.url);
  return new Set(require('email-providers/all.json') as readonly string[]);
}

/** Providers that are known to be missing in the package. */
const ADDED = new Set(
  (
    '139.com 189.cn citromail.hu duck.com fastmail.com fastmail.fm gmx.ch mynet.com nifty.com online.no ' +
    'otenet.gr posteo.de riseup.net sohu.com suomi24.fi telefonica.net tuta.com tuta.io tutamail.com ' +
    'tutanota.com tutanota.de ziggo.nl'
  ).split(' '),
);

/**
 * Domains that are in the package, although addresses there belong to their company, or are
 * examples.
 */
const LEFT_OUT = new Set(
  (
    'alibaba.com ancestry.com bt.com discovery.com dnsmadeeasy.com example.com facebook.com ' +
    'frontier.com games.com medscape.com mydomain.com'
  ).split(' '),
);
